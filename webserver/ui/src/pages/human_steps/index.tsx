import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { EmptyNote, Skeleton } from "../../components/notes";
import { PageHead } from "../../components/page";
import { QueryError } from "../../components/query_error";
import { SearchTabs } from "../../components/search_tabs";
import styles from "./human_steps.module.css";
import { StepCard } from "./step_card";

/** What tasks ask people: the questions that wait, and those answered lately. */
export function Component() {
    const [address] = useSearchParams();
    const state = address.get("show") === "answered" ? "answered" : "open";
    const steps = useQuery({
        queryKey: [...keys.humanSteps, "inbox", state],
        queryFn: () => answered(api.GET("/ui/humanSteps", { params: { query: { state } } })),
        placeholderData: keepPreviousData,
    });
    const open = steps.data?.open;
    return (
        <div className={styles.page}>
            <PageHead title="Human steps">What tasks ask people. A task goes on with the answer.</PageHead>
            <SearchTabs
                label="Questions"
                param="show"
                tabs={[
                    { name: "open", label: open === undefined ? "Waiting" : `Waiting (${open})` },
                    { name: "answered", label: "Answered" },
                ]}
            />
            {steps.isLoadingError && <QueryError error={steps.error} />}
            {steps.isPending && <Skeleton height="24rem" />}
            {steps.data?.steps.length === 0 && <Nothing state={state} />}
            <div className={styles.steps}>
                {steps.data?.steps.map((step) => (
                    <StepCard key={[step.dag_id, step.run_id, step.task_id, step.map_index].join("/")} step={step} />
                ))}
            </div>
            {steps.data?.is_truncated === true && (
                <p className={styles.soft}>There are more; these are the first {steps.data.steps.length}.</p>
            )}
        </div>
    );
}

function Nothing({ state }: { state: "open" | "answered" }) {
    return state === "open" ? (
        <EmptyNote title="Nobody is asked anything">
            <p>Questions of tasks, such as those of ApprovalOperator, appear here as they are asked.</p>
        </EmptyNote>
    ) : (
        <EmptyNote title="No answers lately">
            <p>Answers of the last month are listed here.</p>
        </EmptyNote>
    );
}
