export interface StepAccount {
  readonly name: string;
  readonly fromMs: number;
  readonly changes: number;
  readonly caughtUpMs: number;
  readonly topology: number;
  readonly netperf: number;
  readonly appGroup: number;
  readonly mostOfANode: number;
}

/**
 * Two leaders see a median change at different instants, so the second may repeat the old value. A node may
 * have two owners with their own coordinates, so each change allows one more write.
 */
export function isOncePerChange(
  { changes, topology, netperf, appGroup, mostOfANode }: StepAccount,
  leaders = 1,
): boolean {
  const ofOneWriter = [topology, netperf, appGroup];
  const areWritten = [...ofOneWriter, mostOfANode].every((count) => count >= 1);
  return (
    areWritten &&
    ofOneWriter.every((count) => count <= leaders * changes) &&
    mostOfANode <= (leaders + 1) * changes + 1
  );
}
