export interface Failure {
    name: string;
    reason: string;
}

const AT_ONCE = 6;

/**
 * Do something with each of many things, a few at a time, and return those that failed with the reason of each: one that
 * the server refuses stops no other (case E15).
 */
export async function each<Thing>(
    things: readonly Thing[],
    nameOf: (thing: Thing) => string,
    act: (thing: Thing) => Promise<unknown>,
    onProgress: (done: number) => void,
): Promise<Failure[]> {
    const failures: Failure[] = [];
    const waiting = [...things];
    let done = 0;
    const work = async () => {
        for (let thing = waiting.shift(); thing !== undefined; thing = waiting.shift()) {
            try {
                await act(thing);
            } catch (error) {
                failures.push({ name: nameOf(thing), reason: (error as Error).message });
            }
            done += 1;
            onProgress(done);
        }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return failures;
}
