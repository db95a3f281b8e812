import { BASE } from "../api/base";
import styles from "./brand.module.css";

/** The sign and the name of the product. */
export function Brand() {
    return (
        <span className={styles.brand}>
            <img src={`${BASE}/icon.svg`} alt="" width="20" height="20" />
            Treadle
        </span>
    );
}
