import { render } from "@testing-library/react";
import { expect, it } from "vitest";
import MarkdownRendered from "./markdown_rendered";

const shown = (text: string) => render(<MarkdownRendered text={text} />).container;

it("a text of a DAG file brings no script, no tag and no picture into the page", () => {
    const page = shown(
        '# Load\n\n<script>alert(1)</script><b onclick="x()">b</b>\n\n[go](javascript:alert(1)) ![p](https://x.test/p.png)',
    );
    expect(page.querySelector("script, b, img, [onclick]")).toBeNull();
    expect([...page.querySelectorAll("a")].map((link) => link.getAttribute("href"))).toEqual([
        "",
        "https://x.test/p.png",
    ]);
});

it("its headings stand below those of the page, and tables are tables", () => {
    const page = shown("# Load\n\n| a | b |\n|---|---|\n| 1 | 2 |");
    expect(page.querySelector("h1, h2")).toBeNull();
    expect(page.querySelector("h3")?.textContent).toBe("Load");
    expect(page.querySelectorAll("td")).toHaveLength(2);
});
