import { examine, Violation, type Target } from "./oracle.ts";
import { Draws } from "./random.ts";

export interface Found {
  readonly target: string;
  readonly seed: number;
  readonly at: number;
  readonly input: Uint8Array;
  readonly message: string;
}

interface FuzzResult {
  readonly inputs: number;
  /** A fuzzer with only rejected inputs tests nothing behind validation. */
  readonly taken: number;
  readonly found: readonly Found[];
}

interface FuzzOptions {
  readonly seed: number;
  readonly isOver: (at: number) => boolean;
  /** Number of the first input. @default 0 */
  readonly from?: number;
  /** Maximum number of findings. @default 3 */
  readonly most?: number;
}

/** Returns the input of a number, deterministically. */
function inputOf(target: Target, seed: number, at: number): Uint8Array {
  return target.mutate(new Draws(seed, target.name, at));
}

/** Reports a seed that is not fully accepted as a finding, because the target is outdated. */
export async function fuzz(
  target: Target,
  { seed, isOver, from = 0, most = 3 }: FuzzOptions,
): Promise<FuzzResult> {
  const found: Found[] = [];
  for (const [index, input] of target.seeds.entries()) {
    const message = await faultOf(target, input, (isTaken) => (isTaken ? null : OUT_OF_DATE));
    if (message !== null) found.push({ target: target.name, seed, at: -1 - index, input, message });
  }
  let [inputs, taken] = [0, 0];
  for (let at = from; !isOver(at) && found.length < most; at++) {
    const input = inputOf(target, seed, at);
    inputs++;
    const message = await faultOf(target, input, (isTaken) => {
      if (isTaken) taken++;
      return null;
    });
    if (message !== null) found.push({ target: target.name, seed, at, input, message });
  }
  return { inputs, taken, found };
}

const OUT_OF_DATE = "a valid input is refused; the fuzzer's seeds are out of date";

async function faultOf(
  target: Target,
  input: Uint8Array,
  judge: (isTaken: boolean) => string | null,
): Promise<string | null> {
  try {
    return judge((await examine(target, input)).isTaken);
  } catch (error) {
    if (error instanceof Violation) return error.message;
    throw error;
  }
}
