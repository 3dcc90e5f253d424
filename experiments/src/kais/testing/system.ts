import type { SystemSettings } from "../requests/settings.ts";

/** The scenario `kais` at 12 requests/s, shorter. */
export const SYSTEM: SystemSettings = {
  sites: 5,
  nodesPerSite: [8],
  slotSeconds: 0.25,
  frameSeconds: 25,
  ownMs: 2,
  otherMs: 10,
  cloudMs: 150,
  uplinkMegabits: 10,
  gossipSeconds: 0.25,
  perSecond: 12,
  pattern: "P4",
  seconds: 300,
  workScale: 1,
  hotShare: 0,
};

/** The scenario `kais-milliseconds`, shorter. */
export const MILLISECONDS: SystemSettings = {
  ...SYSTEM,
  slotSeconds: null,
  otherMs: 20,
  cloudMs: 80,
  uplinkMegabits: 50,
  gossipSeconds: 1,
  perSecond: 60,
  seconds: 200,
  workScale: 0.2,
};
