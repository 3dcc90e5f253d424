/** Long work as a generator yields where others may have their turn; here nobody has. */
export function allSteps<T>(steps: Generator<void, T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}
