const BROWSERS: readonly (readonly [RegExp, string])[] = [
    [/\bEdg(?:e|A|iOS)?\/(\d+)/, "Edge"],
    [/\bOPR\/(\d+)/, "Opera"],
    [/\bFirefox\/(\d+)/, "Firefox"],
    [/\b(?:HeadlessChrome|Chrome|CriOS)\/(\d+)/, "Chrome"],
    [/\bVersion\/(\d+)\S* (?:Mobile\/\S+ )?Safari/, "Safari"],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
    [/Android/, "Android"],
    [/iPhone|iPad/, "iOS"],
    [/Windows/, "Windows"],
    [/Mac OS X/, "macOS"],
    [/Linux/, "Linux"],
];

/** Return in words what a browser says of itself, such as "Chrome 156 on Linux"; what is no browser, as it says it. */
export function agentOf(userAgent: string): string {
    for (const [pattern, name] of BROWSERS) {
        const version = pattern.exec(userAgent)?.[1];
        if (version === undefined) continue;
        const system = SYSTEMS.find(([one]) => one.test(userAgent))?.[1];
        return system === undefined ? `${name} ${version}` : `${name} ${version} on ${system}`;
    }
    return userAgent;
}
