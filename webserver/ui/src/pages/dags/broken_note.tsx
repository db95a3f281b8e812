import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { may, useMe } from "../../api/rights";
import styles from "./dags.module.css";

/** Says that files cannot be imported: the DAGs that they would define are in no list. */
export function BrokenNote() {
    const isAllowed = may(useMe(), "read code");
    const broken = useQuery({
        queryKey: [...keys.dags, "broken files"],
        queryFn: () => answered(api.GET("/api/v2/importErrors", { params: { query: { limit: 1 } } })),
        enabled: isAllowed,
    });
    const count = broken.data?.total_entries ?? 0;
    if (count === 0) return null;
    return (
        <p className={styles.problem}>
            {count === 1 ? "1 file" : `${count} files`} cannot be imported; new DAGs in{" "}
            {count === 1 ? "it are" : "them are"} missing here. <Link to="/admin/problems">Show why</Link>
        </p>
    );
}
