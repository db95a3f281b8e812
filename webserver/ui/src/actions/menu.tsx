import { useEffect, useRef, useState } from "react";
import { Button } from "../components/button";
import styles from "./actions.module.css";

interface MenuProps {
    label: string;
    items: readonly { label: string; onChoose: () => void }[];
}

/** A button that opens a few more below it. */
export function Menu({ label, items }: MenuProps) {
    const [isOpen, setOpen] = useState(false);
    const ref = useRef<HTMLDivElement>(null);
    useEffect(() => {
        if (!isOpen) return;
        const close = (event: Event) => {
            const isInside = event.target instanceof Node && ref.current?.contains(event.target);
            if (event instanceof KeyboardEvent ? event.key === "Escape" : !isInside) setOpen(false);
        };
        document.addEventListener("pointerdown", close);
        document.addEventListener("focusin", close);
        document.addEventListener("keydown", close);
        return () => {
            document.removeEventListener("pointerdown", close);
            document.removeEventListener("focusin", close);
            document.removeEventListener("keydown", close);
        };
    }, [isOpen]);
    return (
        <div className={styles.menu} ref={ref}>
            <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
                {label} <span aria-hidden="true">▾</span>
            </Button>
            {isOpen && (
                <ul>
                    {items.map((item) => (
                        <li key={item.label}>
                            <Button
                                look="quiet"
                                onClick={() => {
                                    setOpen(false);
                                    item.onChoose();
                                }}
                            >
                                {item.label}
                            </Button>
                        </li>
                    ))}
                </ul>
            )}
        </div>
    );
}
