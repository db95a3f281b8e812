import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import { toldOf } from "./faults";
import { ErrorNote } from "./notes";

interface Fields {
    atFields: ReadonlyMap<string, string>;
    join: (name: string) => () => void;
}

const NOWHERE: Fields = { atFields: new Map(), join: () => () => undefined };
const FieldsContext = createContext<Fields>(NOWHERE);

interface RefusableProps {
    /** Why what is written was refused. */
    error: Error | null;
    className?: string | undefined;
    /** Whether nobody asked for it, as with a preview while one writes: then it leaves the cursor where it is. */
    isQuiet?: boolean;
    children: ReactNode;
}

/**
 * The fields of a form that may be refused: each says what is wrong with it, and a note below what belongs to none.
 *
 * A field has the name of what it is sent as. The first one at fault is gone to: it may be out of sight.
 */
export function Refusable({ error, className, isQuiet = false, children }: RefusableProps) {
    const [names, setNames] = useState<readonly string[]>([]);
    const frame = useRef<HTMLDivElement>(null);
    const join = useCallback((name: string) => {
        setNames((before) => [...before, name]);
        return () => setNames((before) => before.toSpliced(before.indexOf(name), 1));
    }, []);
    const { atFields, rest } = useMemo(() => toldOf(error, names), [error, names]);
    const fields = useMemo(() => ({ atFields, join }), [atFields, join]);
    useEffect(() => {
        const first = error === null || isQuiet ? null : frame.current?.querySelector<HTMLElement>(AT_FAULT);
        first?.closest("details")?.setAttribute("open", "");
        first?.focus();
    }, [error, isQuiet]);
    return (
        <FieldsContext value={fields}>
            <div ref={frame} className={className}>
                {children}
                {rest !== null && <ErrorNote error={rest} />}
            </div>
        </FieldsContext>
    );
}

const AT_FAULT = '[aria-invalid="true"]';

/** What is wrong with the field of this name, in the form that it stands in. */
export function useFault(name: string | undefined): string | undefined {
    const { atFields, join } = useContext(FieldsContext);
    useEffect(() => (name === undefined ? undefined : join(name)), [name, join]);
    return name === undefined ? undefined : atFields.get(name);
}
