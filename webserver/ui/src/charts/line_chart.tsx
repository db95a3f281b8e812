import { useEffect, useRef, useSyncExternalStore } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { usePreferences } from "../app/preferences";
import { lengthOf } from "../components/times";
import styles from "./line_chart.module.css";
import { useWidth } from "./use_width";

/** One line of a chart; `null` where it has no value. */
export interface Series {
    label: string;
    values: readonly (number | null)[];
    /** A variable of the style sheet. */
    colour: string;
    look: "line" | "dashed" | "bars";
}

interface LineChartProps {
    label: string;
    /** The word below each value. */
    names: readonly string[];
    series: readonly Series[];
    onPick?: (at: number) => void;
}

const HEIGHT = 240;

/** Lengths of time (seconds) by run: as wide as its place, with a legend that tells the values below the pointer. */
export function LineChart({ label, names, series, onPick }: LineChartProps) {
    const frame = useRef<HTMLDivElement>(null);
    const width = useWidth(frame, 0);
    const look = useLook();
    useEffect(() => {
        const { current } = frame;
        if (current === null || width === 0) return;
        current.dataset.look = look;
        const options = optionsOf(names, series, width, resolverIn(current));
        const data: uPlot.AlignedData = [names.map((_, at) => at), ...series.map((one) => [...one.values])];
        const plot = new uPlot(options, data, current);
        const pick = () => plot.cursor.idx !== null && plot.cursor.idx !== undefined && onPick?.(plot.cursor.idx);
        plot.over.addEventListener("click", pick);
        return () => plot.destroy();
    }, [names, series, width, onPick, look]);
    return <div ref={frame} className={styles.chart} role="img" aria-label={label} />;
}

/** Return how to learn what a colour of the style sheet is just now: a canvas knows nothing of variables. */
function resolverIn(element: HTMLElement): (colour: string) => string {
    return (colour) => {
        const probe = document.createElement("i");
        probe.style.color = colour;
        element.append(probe);
        const resolved = getComputedStyle(probe).color;
        probe.remove();
        return resolved;
    };
}

/** Return a word that changes whenever the page turns from light to dark or back. */
function useLook(): string {
    const { theme } = usePreferences();
    const isDark = useSyncExternalStore(
        (changed) => {
            DARK.addEventListener("change", changed);
            return () => DARK.removeEventListener("change", changed);
        },
        () => DARK.matches,
    );
    return `${theme} ${isDark}`;
}

const DARK = matchMedia("(prefers-color-scheme: dark)");

function optionsOf(
    names: readonly string[],
    series: readonly Series[],
    width: number,
    colourOf: (name: string) => string,
): uPlot.Options {
    const [text, line] = [colourOf("var(--text-soft)"), colourOf("var(--line)")];
    const grid = { stroke: line, width: 1 };
    const axis = { stroke: text, grid, ticks: grid };
    return {
        width,
        height: HEIGHT,
        legend: { live: true },
        cursor: { points: { size: 7 }, drag: { x: false, y: false } },
        scales: {
            x: { time: false, range: (_, min, max) => [min - 0.6, max + 0.6] },
            y: { range: (_, __, max) => [0, Math.max(max * 1.08, 0.1)] },
        },
        axes: [
            {
                ...axis,
                grid: { show: false },
                values: (_, splits) => splits.map((at) => names[at] ?? ""),
                space: 110,
                incrs: [1, 2, 5, 10, 20, 50, 100],
            },
            { ...axis, values: (_, splits) => splits.map((seconds) => lengthOf(seconds)), size: 76 },
        ],
        series: [
            { label: "Run", value: (_, at) => (at === null ? "–" : (names[at] ?? "–")) },
            ...series.map((one) => seriesOf(one, colourOf(one.colour))),
        ],
    };
}

function seriesOf(one: Series, colour: string): uPlot.Series {
    const base: uPlot.Series = {
        label: one.label,
        stroke: colour,
        width: 2,
        spanGaps: true,
        value: (_, seconds) => lengthOf(seconds),
    };
    if (one.look === "dashed") return { ...base, dash: [6, 4], points: { show: false } };
    if (one.look === "line") return { ...base, points: { show: true, size: 5 } };
    const paths = uPlot.paths.bars?.({ size: [0.7, 28], radius: 0.1 });
    return { ...base, width: 0, fill: colour, points: { show: false }, ...(paths === undefined ? {} : { paths }) };
}
