/** What the manager does with its plan. */
export const MODES = ["observe", "guarantee", "shape", "route"] as const;
export type Mode = (typeof MODES)[number];
