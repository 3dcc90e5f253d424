/** What a fault came to. */
export interface StepAccount {
  readonly name: string;
  /** When it began, Unix time. */
  readonly fromMs: number;
  readonly changes: number;
  readonly caughtUpMs: number;
  readonly topology: number;
  readonly netperf: number;
  readonly appGroup: number;
  readonly mostOfANode: number;
}

/**
 * Whether what was to be written was written, and once by each who leads: two that are fed apart see a median
 * change at different instants, and the second may say the old once more. A node has several owners in turn,
 * and where two lead, two at a time, each with its own view of the instant in which a median changes and with
 * its own coordinates: it may be written once more for each change, and at the beginning.
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
