// @vitest-environment node
import { expect, it } from "vitest";
import { linesOf } from "./python";

const told = (source: string) =>
    linesOf(source).map((line) =>
        line.filter((one) => one.kind !== "plain").map((one) => `${one.kind}:${one.text.trim()}`),
    );

it("no letter of a source is lost or added", () => {
    const source =
        'def f(x):\n    """Says\n    "hi"."""\n    return f"{x!r}" + \'#\' * 0x1F  # done\n\n@dag.task(retries=2)\nasync def g(): pass';
    expect(
        linesOf(source)
            .map((line) => line.map((one) => one.text).join(""))
            .join("\n"),
    ).toBe(source);
});

it("texts over several lines stay texts until they end", () => {
    expect(told('"""a\nb # no comment\nc""" # yes')).toEqual([
        ['text:"""', "text:a"],
        ["text:b # no comment"],
        ['text:c"""', "comment:# yes"],
    ]);
});

it("words, decorators and numbers are told apart from names", () => {
    expect(told("@task\ndef in_full(x=1.5): return None")).toEqual([
        ["decorator:@task"],
        ["word:def", "number:1.5", "word:return", "word:None"],
    ]);
});
