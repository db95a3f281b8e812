import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { ErrorNote, Skeleton } from "../../components/notes";
import { Table } from "../../components/table";
import styles from "./admin.module.css";

/** The settings that this web server runs with; secrets are masked. */
export function Component() {
    const config = useQuery({
        queryKey: [...keys.admin, "settings"],
        queryFn: () => answered(api.GET("/api/v2/config", { params: { query: {} } })),
    });
    if (config.isError) return <ErrorNote error={config.error} />;
    if (config.data === undefined) return <Skeleton height="24rem" />;
    return config.data.sections.map((section) => (
        <Table
            key={section.name}
            label={`Settings: ${section.name}`}
            rows={section.options}
            keyOf={(option) => option.key}
            columns={[
                { head: `Setting (${section.name})`, cell: (option) => <code>{option.key}</code> },
                { head: "Value", cell: (option) => <pre className={styles.value}>{option.value}</pre> },
            ]}
        />
    ));
}
