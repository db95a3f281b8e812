import styles from "./switch.module.css";

interface SwitchProps {
    label: string;
    on: boolean;
    disabled?: boolean;
    onChange: (on: boolean) => void;
}

/** Something that is on or off, and changes at once. */
export function Switch({ label, on, disabled = false, onChange }: SwitchProps) {
    return (
        <button
            type="button"
            role="switch"
            aria-checked={on}
            aria-label={label}
            title={label}
            disabled={disabled}
            className={styles.switch}
            onClick={() => onChange(!on)}
        >
            <span />
        </button>
    );
}
