import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { useZone } from "../../components/clock";
import { Select } from "../../components/field";
import { momentIn } from "../../components/times";
import toolbar from "./toolbar.module.css";

const MOST = 200;

interface VersionSelectProps {
    dagId: string;
    label: string;
    value: number | null;
    onChange: (version: string) => void;
    /** What the choice of no version is called. */
    otherwise: string;
}

/** A choice of one of the newest versions of a DAG, with the time when it was first seen. */
export function VersionSelect({ dagId, label, value, onChange, otherwise }: VersionSelectProps) {
    const zone = useZone();
    const versions = useQuery({
        queryKey: [...keys.dag(dagId), "versions"],
        queryFn: () =>
            answered(
                api.GET("/api/v2/dags/{dag_id}/dagVersions", {
                    params: { path: { dag_id: dagId }, query: { limit: MOST, order_by: ["-version_number"] } },
                }),
            ),
    });
    const known = versions.data?.dag_versions ?? [];
    return (
        <Select
            className={toolbar.version}
            label={label}
            value={value ?? ""}
            onChange={(event) => onChange(event.target.value)}
        >
            <option value="">{otherwise}</option>
            {value !== null && !known.some((one) => one.version_number === value) && (
                <option value={value}>{value}</option>
            )}
            {known.map((one) => (
                <option key={one.version_number} value={one.version_number}>
                    {one.version_number}, {one.created_at === null ? "" : momentIn(zone, one.created_at)}
                </option>
            ))}
        </Select>
    );
}

/** Read a version of the address. */
export function versionOf(address: URLSearchParams, name = "version"): number | null {
    const value = Number(address.get(name));
    return Number.isInteger(value) && value > 0 ? value : null;
}
