import { renderHook } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { useOlder } from "./use_chosen";

const columns = (count: number) => Array.from({ length: count }, (_, at) => ({ run: { run_id: `run ${at}` } }));

it("older runs are fetched until the chosen one is among them", () => {
    const pages = [60, 120, 180];
    let fetched = 0;
    const shown = renderHook(
        ({ count }) => {
            // As the page does: another function once a page has come.
            const onMore = vi.fn(() => {
                fetched += 1;
            });
            return useOlder({ columns: columns(count), chosen: "run 150", hasMore: true, onMore });
        },
        { initialProps: { count: 60 } },
    );
    expect(shown.result.current).toBe("looked for");
    for (const count of pages.slice(1)) shown.rerender({ count });
    expect(shown.result.current).toBe("there");
    expect(fetched).toBe(2);
});

it("a run that is very old is not looked for without end, and nothing is without a choice", () => {
    const onMore = vi.fn();
    const older = (chosen: string | null, count: number, hasMore: boolean) =>
        renderHook(() => useOlder({ columns: columns(count), chosen, hasMore, onMore })).result.current;
    expect(older("gone", 1200, true)).toBe("not shown");
    expect(older("gone", 60, false)).toBe("not shown");
    expect(older(null, 60, true)).toBe("there");
    expect(onMore).not.toHaveBeenCalled();
});
