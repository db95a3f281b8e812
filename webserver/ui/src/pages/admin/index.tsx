import { Navigate, Outlet, useLocation, useMatch } from "react-router";
import { useMe } from "../../api/rights";
import { EmptyNote } from "../../components/notes";
import { PageHead } from "../../components/page";
import { Tabs } from "../../components/tabs";
import styles from "./admin.module.css";
import { partsFor } from "./parts";

/** The administration: the parts that this account may see. */
export function Component() {
    const parts = partsFor(useMe());
    const { pathname } = useLocation();
    const isBare = useMatch("/admin") !== null;
    const first = parts[0];
    if (first === undefined) return <EmptyNote title="There is nothing here for your role" />;
    if (isBare) return <Navigate to={`/admin/${first.path}`} replace />;
    return (
        <>
            <PageHead title="Administration" tab={parts.find(({ path }) => pathname === `/admin/${path}`)?.label} />
            <div className={styles.admin}>
                <Tabs
                    label="Parts of the administration"
                    tabs={parts.map(({ path, label }) => ({ to: `/admin/${path}`, label }))}
                />
                <Outlet />
            </div>
        </>
    );
}
