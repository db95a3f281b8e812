import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { Skeleton } from "../../components/notes";
import { QueryError } from "../../components/query_error";
import { Table } from "../../components/table";
import styles from "./admin.module.css";

/** The settings that this web server runs with; secrets are masked. */
export function Component() {
    const config = useQuery({
        queryKey: [...keys.admin, "settings"],
        queryFn: () => answered(api.GET("/api/v2/config", { params: { query: {} } })),
    });
    if (config.isLoadingError) return <QueryError error={config.error} />;
    if (config.data === undefined) return <Skeleton height="24rem" />;
    return (
        <>
            <p className={styles.quiet}>
                What this web server runs with: from <code>treadle.toml</code> and from variables of the environment
                such as <code>TREADLE_PARALLELISM</code>.
            </p>
            {config.data.sections.map((section) => (
                <Table
                    key={section.name}
                    label={`Settings: ${section.name}`}
                    rows={section.options}
                    keyOf={(option) => option.key}
                    columns={[
                        { head: nameOf(section.name), cell: (option) => <code>{option.key}</code> },
                        { head: "Value", cell: (option) => <Value value={option.value} /> },
                    ]}
                />
            ))}
        </>
    );
}

/** The settings themselves stand in a section of this name. */
const MAIN = "treadle";

function nameOf(section: string): string {
    return section === MAIN ? "Setting" : `Setting of [${section}]`;
}

function Value({ value }: { value: unknown }) {
    if (value === "" || value === null || value === undefined) return <span className={styles.quiet}>not set</span>;
    return <pre className={styles.value}>{String(value)}</pre>;
}
