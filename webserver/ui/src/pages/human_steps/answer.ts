import type { Got } from "../../api/client";
import { confOf, paramsOf } from "../../forms/params";

export type Step = Got<"/ui/humanSteps">["steps"][number];

/** Return what is sent for an answer: the options that are chosen in the order in which they were offered, and what was
 * written into the form; and what is wrong there, by the field's name. */
export function answerOf(step: Step, chosen: ReadonlySet<string>, texts: Record<string, string>) {
    const { conf, problems } = confOf(paramsOf(step.params), texts);
    return {
        body: { chosen_options: step.options.filter((option) => chosen.has(option)), params_input: conf },
        problems,
    };
}

/** Return the options that are chosen after a click on one: it alone, or it too where several may be. */
export function chosenAfter(chosen: ReadonlySet<string>, option: string, multiple: boolean): Set<string> {
    if (!multiple) return new Set([option]);
    const after = new Set(chosen);
    if (!after.delete(option)) after.add(option);
    return after;
}

/** Return the names of those who may answer; none: everybody who may edit the run. */
export function assigneesOf(step: Step): string[] {
    return step.assignees.map((one) => String(one.name ?? one.id));
}

/** Return whether somebody is among those who were asked; where nobody is named, everybody is. */
export function isAsked(step: Step, username: string): boolean {
    return step.assignees.length === 0 || step.assignees.some((one) => (one.id || one.name) === username);
}
