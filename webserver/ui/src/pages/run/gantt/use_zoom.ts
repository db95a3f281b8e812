import { useCallback } from "react";
import { useShortcuts } from "../../../keyboard/shortcuts";
import { useAddress } from "../../dag/use_address";
import { addressOf, moved, type Window, zoomed, zoomOf } from "./zoom";

/** The part of a run's time that the chart shows, by the address; and how to look closer, or at another part. */
export function useZoom(whole: Window) {
    const [address, change] = useAddress();
    const shown = zoomOf(address, whole);
    const { from, to } = whole;
    const show = useCallback((part: Window) => change(addressOf(part, { from, to })), [change, from, to]);
    const isWhole = shown.from === whole.from && shown.to === whole.to;
    const middle = (shown.from + shown.to) / 2;
    const zoom = (times: number) => show(zoomed(shown, times, middle, whole));
    const move = (share: number) => (isWhole ? false : show(moved(shown, share, whole)));
    useShortcuts("Gantt chart", [
        { keys: "+", does: "Zoom in", act: () => zoom(0.5) },
        { keys: "-", does: "Zoom out", act: () => zoom(2) },
        { keys: "0", does: "Show the whole run", act: () => show(whole) },
        { keys: "ArrowLeft", does: "Earlier, where the chart is zoomed", act: () => move(-0.25) },
        { keys: "ArrowRight", does: "Later, where the chart is zoomed", act: () => move(0.25) },
    ]);
    return { shown, isWhole, show, zoom };
}
