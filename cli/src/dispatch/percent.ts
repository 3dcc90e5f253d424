export function percent(ratio: number | null): string | null {
  return ratio === null ? null : `${Math.round(ratio * 100)} %`;
}
