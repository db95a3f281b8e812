import type { ReactNode } from "react";
import styles from "./pointer_card.module.css";

/** A card beside what the pointer is on, at a point of the window. It says nothing that labels do not say too. */
export function PointerCard({ x, y, children }: { x: number; y: number; children: ReactNode }) {
    const side = x > window.innerWidth / 2 ? { right: window.innerWidth - x + 14 } : { left: x + 14 };
    return (
        <div
            className={styles.card}
            style={{ top: Math.min(y + 14, window.innerHeight - 170), ...side }}
            aria-hidden="true"
        >
            {children}
        </div>
    );
}
