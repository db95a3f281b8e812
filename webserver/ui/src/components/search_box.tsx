import { useTyped } from "./use_typed";

interface SearchBoxProps {
    label: string;
    /** What the address says. */
    text: string;
    onText: (text: string) => void;
}

/** A line to search by, with its name inside; it follows the address, and tells what was written after a pause or Enter. */
export function SearchBox({ label, text, onText }: SearchBoxProps) {
    const [typed, write, tell] = useTyped(text, onText);
    return (
        <input
            type="search"
            aria-label={label}
            placeholder={label}
            value={typed}
            onChange={(event) => write(event.target.value)}
            onKeyDown={(event) => {
                if (event.key === "Enter") tell();
            }}
        />
    );
}
