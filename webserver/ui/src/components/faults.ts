import { ApiError, type FieldFault } from "../api/client";

/** What is wrong with a form, told by its fields: as far as it is known before the server is asked. */
export class FormError extends Error {
    readonly faults: readonly FieldFault[];

    constructor(faults: readonly FieldFault[]) {
        super(faults.map(({ words }) => words).join("; "));
        this.name = "FormError";
        this.faults = faults;
    }
}

interface Told {
    /** What is wrong, by the name of the field it is told at. */
    atFields: ReadonlyMap<string, string>;
    /** What belongs to no field. */
    rest: Error | null;
}

/** Return where each part of a refusal is told, in a form that has fields of these names. */
export function toldOf(error: Error | null, names: readonly string[]): Told {
    const atFields = new Map<string, string>();
    if (error === null) return { atFields, rest: null };
    const faults = "faults" in error ? (error.faults as readonly FieldFault[]) : [];
    const others: FieldFault[] = [];
    for (const fault of faults) {
        const name = fieldOf(fault.field, names);
        if (name === undefined) others.push(fault);
        else atFields.set(name, [atFields.get(name), fault.words].filter(Boolean).join("; "));
    }
    if (atFields.size === 0) return { atFields, rest: error };
    const words = others.map((one) => (one.field === "" ? one.words : `${one.field}: ${one.words}`)).join("; ");
    return {
        atFields,
        rest: words === "" ? null : error instanceof ApiError ? new ApiError(error.status, words) : new Error(words),
    };
}

/** The field that a fault lies in: "folders.0" lies in "folders". */
function fieldOf(place: string, names: readonly string[]): string | undefined {
    const parts = place.split(".");
    for (let count = parts.length; count > 0; count--) {
        const name = parts.slice(0, count).join(".");
        if (names.includes(name)) return name;
    }
    return undefined;
}
