/** Return a number with the name of what it counts: "1 session", "3 sessions". */
export function counted(count: number, one: string, many = `${one}s`): string {
    return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
