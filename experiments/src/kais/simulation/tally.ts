export interface Outcome {
  /** Share of requests in time, Φ' of KaiS. */
  readonly inTime: number;
  /** Per frame, by arrival. */
  readonly frames: readonly number[];
  /** Gigabytes between sites and to the cloud, and pulled images; Φ_c of KaiS. */
  readonly forwardedGb: number;
  readonly imagesGb: number;
  /** Shares of requests by destination. */
  readonly own: number;
  readonly other: number;
  readonly cloud: number;
  readonly added: number;
  readonly removed: number;
  /** Mean time per decision, Φ_d of KaiS: dispatch, and a frame of orchestration. */
  readonly dispatchMs: number;
  readonly orchestrateMs: number;
}

type Place = "own" | "other" | "cloud";

export class Tally {
  forwardedMb = 0;
  imagesMb = 0;
  added = 0;
  removed = 0;
  dispatchMs = 0;
  orchestrateMs = 0;
  orchestrations = 0;
  readonly #places: Record<Place, number> = { own: 0, other: 0, cloud: 0 };
  readonly #frameSeconds: number;
  readonly #arrived: number[] = [];
  readonly #inTime: number[] = [];

  constructor(frameSeconds: number) {
    this.#frameSeconds = frameSeconds;
  }

  sentTo(place: Place): void {
    this.#places[place]++;
  }

  settled(at: number, isInTime: boolean): void {
    const frame = Math.floor(at / this.#frameSeconds);
    this.#arrived[frame] = (this.#arrived[frame] ?? 0) + 1;
    this.#inTime[frame] = (this.#inTime[frame] ?? 0) + (isInTime ? 1 : 0);
  }

  outcome(): Outcome {
    const sum = (values: readonly number[]): number =>
      values.reduce((total, value) => total + (value ?? 0), 0);
    const total = sum(this.#arrived);
    const { own, other, cloud } = this.#places;
    return {
      inTime: sum(this.#inTime) / total,
      frames: Array.from(this.#arrived, (_, frame) => this.#shareOf(frame)),
      forwardedGb: this.forwardedMb / 1e3,
      imagesGb: this.imagesMb / 1e3,
      own: own / total,
      other: other / total,
      cloud: cloud / total,
      added: this.added,
      removed: this.removed,
      dispatchMs: this.dispatchMs / Math.max(1, own + other + cloud),
      orchestrateMs: this.orchestrateMs / Math.max(1, this.orchestrations),
    };
  }

  /** Returns 1 for a frame without arrivals. */
  #shareOf(frame: number): number {
    const arrived = this.#arrived[frame] ?? 0;
    return arrived === 0 ? 1 : (this.#inTime[frame] ?? 0) / arrived;
  }
}
