import { useEffect, useEffectEvent, useState } from "react";

/** Each letter's answer would be thrown away; it is told once nothing more was written for so long. */
const PAUSE_MILLISECONDS = 200;

/**
 * Return what stands in a field for a text of the address, how to write it, and how to tell it at once.
 *
 * Another text of the address comes into the field: Back, or a link. But the address comes behind the keys, so a text
 * that was told from here comes back when more is written already; that changes nothing. Telling at once returns whether
 * there was anything to tell.
 */
export function useTyped(
    text: string,
    onText: (text: string) => void,
): [string, (typed: string) => void, () => boolean] {
    const [typed, write] = useState(text);
    const [seen, see] = useState(text);
    const [told, setTold] = useState<readonly string[]>([]);
    if (text !== seen) {
        see(text);
        const at = told.indexOf(text);
        setTold(at < 0 ? [] : told.slice(at + 1));
        if (at < 0) write(text);
    }
    const isTold = typed === (told.at(-1) ?? seen);
    const tell = (written: string) => {
        if (isTold) return false;
        setTold(written === seen ? [] : [...told, written]);
        onText(written);
        return true;
    };
    const tellAfterPause = useEffectEvent(tell);
    useEffect(() => {
        if (isTold) return;
        const timer = setTimeout(() => tellAfterPause(typed), PAUSE_MILLISECONDS);
        return () => clearTimeout(timer);
    }, [typed, isTold]);
    return [typed, write, () => tell(typed)];
}
