/** What is written is lowered only when less than this share of it would do. */
const LOWER_BELOW_RATIO = 0.6;

/** What a written need is judged by. */
export interface NeedRule {
  /** Share that is added to what was observed. */
  readonly marginRatio: number;
  /** Whether so little is known yet that nothing may be lowered. */
  readonly isYoung: boolean;
}

/**
 * The bandwidth to write for an observed need, bits per second: with a margin, rounded up to two significant
 * digits; or what is written, as long as it covers the need and isn't far too much. Null: no need is known.
 */
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
