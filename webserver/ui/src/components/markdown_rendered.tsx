import type { ComponentProps } from "react";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import styles from "./markdown.module.css";
import { withoutIndent } from "./markdown_text";

/*
 * Texts of DAG files are data: the library makes React elements of them and never HTML, leaves tags of HTML out, and
 * keeps only addresses of harmless kinds. Pictures of other sites would tell these of every reader, so they are links.
 */
const parts = {
    a: ({ node, ...link }: ComponentProps<"a"> & { node?: unknown }) => (
        <a {...link} target="_blank" rel="noopener noreferrer" />
    ),
    img: ({ src, alt }: ComponentProps<"img">) => (
        <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noopener noreferrer">
            {alt || "picture"}
        </a>
    ),
    // The page has its own h1 and h2: what the text calls its first heading is the third here.
    h1: ({ node, ...heading }: ComponentProps<"h3"> & { node?: unknown }) => <h3 {...heading} />,
    h2: ({ node, ...heading }: ComponentProps<"h4"> & { node?: unknown }) => <h4 {...heading} />,
    h3: ({ node, ...heading }: ComponentProps<"h5"> & { node?: unknown }) => <h5 {...heading} />,
    // A wide table scrolls by itself.
    table: ({ node, ...table }: ComponentProps<"table"> & { node?: unknown }) => (
        <div className={styles.wide}>
            <table {...table} />
        </div>
    ),
};

/** What {@link Markdown} shows once its chunk is there. */
export default function MarkdownRendered({ text }: { text: string }) {
    return (
        <div className={styles.text}>
            <ReactMarkdown remarkPlugins={[remarkGfm]} components={parts} skipHtml>
                {withoutIndent(text)}
            </ReactMarkdown>
        </div>
    );
}
