export const MODES = ["observe", "guarantee", "shape", "route"] as const;
export type Mode = (typeof MODES)[number];
