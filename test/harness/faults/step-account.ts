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
 * Whether each expected write happened, and once per leader. Two leaders see a median change at different
 * instants, so the second may write the old value again. Nodes change owners and may have two at a time, each
 * with its own coordinates, so each change and the start allow one more write per node.
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
