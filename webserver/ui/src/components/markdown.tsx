import { lazy, Suspense } from "react";
import { Skeleton } from "./notes";

const Rendered = lazy(() => import("./markdown_rendered"));

/** A text in Markdown (doc_md of a DAG or task, the question of a human step), shown as it is meant. Its code is fetched when first needed. */
export function Markdown({ text }: { text: string }) {
    return (
        <Suspense fallback={<Skeleton height="6rem" />}>
            <Rendered text={text} />
        </Suspense>
    );
}
