import { type ReactNode, useEffect } from "react";
import styles from "./page.module.css";

interface PageHeadProps {
    title: string;
    /** What the browser's tab is named where that is another name. */
    tab?: string | undefined;
    /** One line below the title. */
    children?: ReactNode;
    actions?: ReactNode;
}

/** The head of a page, which names the browser's tab too. */
export function PageHead({ title, tab = title, children, actions }: PageHeadProps) {
    useEffect(() => {
        document.title = `${tab} · Treadle`;
    }, [tab]);
    return (
        <header className={styles.head}>
            <div>
                <h1>{title}</h1>
                {children !== undefined && <p>{children}</p>}
            </div>
            {actions !== undefined && <div className={styles.actions}>{actions}</div>}
        </header>
    );
}

/** A framed part of a page with a title of its own. */
export function Panel({
    title,
    label = title,
    children,
    className,
}: {
    title: string;
    /** What tells it from others of the same title, for those who do not see where it stands. */
    label?: string;
    children: ReactNode;
    className?: string | undefined;
}) {
    return (
        <section className={[styles.panel, className].filter(Boolean).join(" ")} aria-label={label}>
            <h2>{title}</h2>
            {children}
        </section>
    );
}
