import type { VNode } from "preact";
import { themeChoice, type ThemeChoice } from "../state/store.ts";

const CHOICES: readonly (readonly [ThemeChoice, string])[] = [
  ["system", "Auto"],
  ["light", "Light"],
  ["dark", "Dark"],
];

export function ThemeSwitch(): VNode {
  return (
    <label class="theme">
      <span class="unseen">Colours</span>
      <select
        id="theme"
        value={themeChoice.value}
        onChange={({ currentTarget }) => (themeChoice.value = currentTarget.value as ThemeChoice)}
      >
        {CHOICES.map(([choice, name]) => (
          <option key={choice} value={choice}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
