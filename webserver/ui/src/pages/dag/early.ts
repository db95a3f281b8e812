import type { LoaderFunctionArgs, ShouldRevalidateFunctionArgs } from "react-router";

/** The address of a page's part, before anything of it is drawn. */
export interface Place {
    dagId: string;
    address: URLSearchParams;
}

/**
 * Return a loader that asks the server as soon as the part's code is there, together with what the parts around it ask.
 * What it asks for ends in the cache, where the part finds it; a refusal is told by the part.
 */
export function early(ask: (place: Place) => Promise<unknown>): (args: LoaderFunctionArgs) => null {
    return ({ params, request }) => {
        void ask({ dagId: params.dagId ?? "", address: new URL(request.url).searchParams });
        return null;
    };
}

/** What stands in the address besides the DAG is looked after by the parts themselves. */
export const shouldRevalidate = ({ currentParams, nextParams }: ShouldRevalidateFunctionArgs): boolean =>
    currentParams.dagId !== nextParams.dagId;
