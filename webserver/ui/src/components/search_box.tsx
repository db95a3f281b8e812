import { useEffect, useState } from "react";

interface SearchBoxProps {
    label: string;
    text: string;
    onText: (text: string) => void;
}

/** A line to search by; tells what was written once nothing more is, since each letter's answer would be thrown away. */
export function SearchBox({ label, text, onText }: SearchBoxProps) {
    const [typed, setTyped] = useState(text);
    const [told, setTold] = useState(text);
    if (text !== told) {
        // Somebody else changed it, the Back button say.
        setTold(text);
        setTyped(text);
    }
    useEffect(() => {
        if (typed === told) return;
        const timer = setTimeout(() => {
            setTold(typed);
            onText(typed);
        }, 200);
        return () => clearTimeout(timer);
    }, [typed, told, onText]);
    return (
        <input
            type="search"
            aria-label={label}
            placeholder={label}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
        />
    );
}
