import { useSearchParams } from "react-router";
import { may, useMe } from "../../api/rights";
import { SearchTabs } from "../../components/search_tabs";
import { AssetEvents } from "./asset_events";
import { Attempts } from "./attempts";
import { Details } from "./details";
import { LogOfTry } from "./log_of_try";
import { Rendered } from "./rendered";
import type { Instance, InstanceName } from "./shape";
import { Steps } from "./steps";
import styles from "./task.module.css";
import { TaskHead } from "./task_head";
import { XComs } from "./xcoms";

/** One task instance: what it is doing and why, and what it wrote, was given and left. */
export function InstancePage({ name, instance }: { name: InstanceName; instance: Instance }) {
    const [address] = useSearchParams();
    const me = useMe();
    const tabs = [
        ...(may(me, "read logs", name.dagId) ? [{ name: "log", label: "Log" }] : []),
        { name: "attempts", label: `Attempts (${instance.attempts.length})` },
        { name: "rendered", label: "Rendered fields" },
        ...(may(me, "read XComs", name.dagId)
            ? [
                  { name: "xcoms", label: "XComs" },
                  { name: "steps", label: "Durable steps" },
              ]
            : []),
        { name: "assets", label: "Asset events" },
        { name: "details", label: "Details" },
    ];
    const shown = address.get("tab") ?? tabs[0]?.name;
    return (
        <div className={styles.task}>
            <TaskHead name={name} instance={instance} />
            <SearchTabs label="Parts of the task instance" param="tab" tabs={tabs} />
            {shown === "log" && <LogOfTry name={name} instance={instance} />}
            {shown === "attempts" && <Attempts attempts={instance.attempts} />}
            {shown === "rendered" && <Rendered fields={instance.rendered_fields} />}
            {shown === "xcoms" && <XComs name={name} />}
            {shown === "steps" && <Steps name={name} />}
            {shown === "assets" && <AssetEvents name={name} />}
            {shown === "details" && <Details name={name} instance={instance} />}
        </div>
    );
}
