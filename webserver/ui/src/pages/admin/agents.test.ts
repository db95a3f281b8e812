import { describe, expect, it } from "vitest";
import { agentOf } from "./agents";

const GECKO = "(KHTML, like Gecko)";

describe("agentOf", () => {
    it.each([
        [
            `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 ${GECKO} Chrome/156.0.0.0 Safari/537.36`,
            "Chrome 156 on Linux",
        ],
        [
            `Mozilla/5.0 (Windows NT 10.0; Win64) AppleWebKit/537.36 ${GECKO} Chrome/156.0 Safari/537.36 Edg/156.0`,
            "Edge 156 on Windows",
        ],
        [
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox 140 on macOS",
        ],
        [
            `Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605 ${GECKO} Version/19.0 Mobile/15E1 Safari/604`,
            "Safari 19 on iOS",
        ],
        ["python-httpx/0.28.1", "python-httpx/0.28.1"],
        ["", ""],
    ])("tells %s as %s", (userAgent, words) => {
        expect(agentOf(userAgent)).toBe(words);
    });
});
