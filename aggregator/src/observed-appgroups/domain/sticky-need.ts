/** A written value is lowered only if less than this share of it suffices. */
const LOWER_BELOW_RATIO = 0.6;

export interface NeedRule {
  readonly marginRatio: number;
  /** True: the history is too short to lower a value. */
  readonly isYoung: boolean;
}

/** Bit/s: the need with a margin, rounded up to two digits, or the written value while it fits. */
export function stickyNeed(
  written: number | null,
  observed: number | null,
  { marginRatio, isYoung }: NeedRule,
): number | null {
  if (observed === null) return written;
  if (observed < 1) return isYoung ? written : null;
  const wanted = twoDigitsUp(observed * (1 + marginRatio));
  if (written === null) return wanted;
  const isEnough = observed <= written;
  return isEnough && (isYoung || wanted >= LOWER_BELOW_RATIO * written) ? written : wanted;
}

function twoDigitsUp(value: number): number {
  const step = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  return Math.ceil(value / step) * step;
}
