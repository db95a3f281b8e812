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
/** How far the lines of the scale may stand apart, in seconds: as a clock counts. */
const STEPS = [
    ...[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800],
    ...[43_200, 86_400, 172_800, 432_000, 864_000],
];

/** Lengths of time (seconds) by run: as wide as its place, with a legend that tells the values below the pointer. */
export function LineChart({ label, names, series, onPick }: LineChartProps) {
    const frame = useRef<HTMLDivElement>(null);
    const width = useWidth(frame, 0);
    const look = useLook();
    useEffect(() => {
        const { current } = frame;
        if (current === null || width === 0) return;
        current.dataset.look = look;
        const options = optionsOf(names, series, width, coloursIn(current, series));
        const data: uPlot.AlignedData = [names.map((_, at) => at), ...series.map((one) => [...one.values])];
        const plot = new uPlot(options, data, current);
        const pick = () => plot.cursor.idx !== null && plot.cursor.idx !== undefined && onPick?.(plot.cursor.idx);
        plot.over.addEventListener("click", pick);
        return () => plot.destroy();
    }, [names, series, width, onPick, look]);
    return <div ref={frame} className={styles.chart} role="img" aria-label={label} />;
}

interface Colours {
    text: string;
    line: string;
    series: readonly string[];
}

/**
 * Return what the colours of a chart are just now: a canvas knows nothing of variables. They are looked up before the
 * chart is made: the engine may keep a chart's functions for good, which must not keep the page that it stood on.
 */
function coloursIn(element: HTMLElement, series: readonly Series[]): Colours {
    const colourOf = (colour: string): string => {
        const probe = document.createElement("i");
        probe.style.color = colour;
        element.append(probe);
        const resolved = getComputedStyle(probe).color;
        probe.remove();
        return resolved;
    };
    return {
        text: colourOf("var(--text-soft)"),
        line: colourOf("var(--line)"),
        series: series.map((one) => colourOf(one.colour)),
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
    colours: Colours,
): uPlot.Options {
    const grid = { stroke: colours.line, width: 1 };
    const axis = { stroke: colours.text, grid, ticks: grid };
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
            { ...axis, values: (_, splits) => splits.map((seconds) => lengthOf(seconds)), size: 84, incrs: STEPS },
        ],
        series: [
            { label: "Run", value: (_, at) => (at === null ? "" : (names[at] ?? "")) },
            ...series.map((one, at) => seriesOf(one, colours.series[at] ?? colours.text)),
        ],
    };
}

function seriesOf(one: Series, colour: string): uPlot.Series {
    const base: uPlot.Series = {
        label: one.label,
        stroke: colour,
        width: 2,
        spanGaps: true,
        value: (_, seconds) => (seconds === null ? "" : lengthOf(seconds)),
    };
    if (one.look === "dashed") {
        // The same everywhere, so it is told without a pointer too.
        const level = one.values.at(-1) ?? null;
        return { ...base, dash: [6, 4], points: { show: false }, value: () => lengthOf(level) };
    }
    if (one.look === "line") return { ...base, points: { show: true, size: 5 } };
    const paths = uPlot.paths.bars?.({ size: [0.7, 28], radius: 0.1 });
    return { ...base, width: 0, fill: colour, points: { show: false }, ...(paths === undefined ? {} : { paths }) };
}
