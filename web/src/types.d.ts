/** Types that several modules share. Names of columns and keys are those of docs/records.md and docs/json-schema.md. */

export type Way = "up" | "down";
export type Ways<T> = { up: T; down: T };

/** A scenario as a person wrote it, with what the page put over it. */
export interface Written {
  text: string;
  file: string;
  overrides: [string, string][];
}

export interface FlowInfo {
  name: string;
  app: string;
  label: string;
  path_ms: Ways<number>;
}

/** A checked scenario. */
export interface Description {
  name: string;
  question: string;
  hash: string;
  seed: number;
  duration_s: number;
  warmup_s: number;
  /** The scenario as a file. */
  toml: string;
  /** Its keys as written, presets applied. */
  keys: any;
  flows: FlowInfo[];
  caveats: string[];
  /** 0 where the line follows a trace. */
  rate_bps: Ways<number>;
}

/** Packets of one direction in order of arrival. Times are seconds. */
export interface Packets {
  flow: Uint16Array;
  /** Handed to the network. */
  sent: Float32Array;
  /** Entered the queues of the household. */
  enter: Float32Array;
  /** Left them. */
  leave: Float32Array;
  arrive: Float32Array;
}

export interface Drops {
  flow: Uint32Array;
  way: Uint8Array;
  at: Float64Array;
}

/** Round trips of one flow. */
export interface Trips {
  at: Float64Array;
  ms: Float64Array;
}

/** What was sent and received in each second, by flow and direction: bit/s at [flow][way][second]. */
export type Rates = Ways<Float32Array>[];

/** A run, or its beginning. */
export interface Result {
  description: Description;
  /** Simulated so far. */
  until_s: number;
  /** JSON of the summary as the native program writes it; empty until the run has ended. */
  json: string;
  summary: any | null;
  packets: Ways<Packets>;
  drops: Drops;
  trips: Trips[];
  rates: Rates;
}

export interface Preset {
  word: "with" | "plan" | "policy" | "router" | "household";
  group: string;
  name: string;
  title: string;
  label: string | null;
  notes: string;
  quality: { good_ms: number; playable_ms: number; bad_ms: number } | null;
  remember: string | null;
}

/** A word of the catalogue. */
export interface Word {
  word: string;
  label: string;
  about: string;
  /** Of an application: its group, such as game or video. */
  group: string;
  /** Of a queue: nothing, flows or classes. */
  isolates: string;
}

export interface Everything {
  presets: Preset[];
  catalogue: { queues: Word[]; apps: Word[] };
}

/** Lines to paste: for `tc`, for `openwrt`, or for `gateway`, gamelane's own. */
export interface Recipe {
  target: string;
  /** What the lines leave out, or why there are none. */
  unsaid: string[];
  /** Empty if there are no lines. */
  text: string;
}

export interface Analysis {
  json: string;
  /** What could not be read. */
  problems: string[];
  lines: { text: string; style: string }[];
}

/** Names of the two sides. */
export type Side = "a" | "b";

/** What a worker hears. */
export type Question =
  | { kind: "module"; module: WebAssembly.Module }
  | { kind: "run"; id: number; scenario: Written }
  | { kind: "give"; id: number; name: string; bytes: Uint8Array }
  | { kind: "describe"; id: number; scenario: Written }
  | { kind: "recipes"; id: number; scenario: Written; today: Written }
  | { kind: "analyze"; id: number; name: string; width: number }
  | { kind: "catalogue"; id: number };

/** What a worker says. */
export interface Heard {
  id: number;
  value?: any;
  /** How far the run is. */
  until_s?: number;
  failure?: string;
  /** Its module can no longer be used. */
  isBroken?: boolean;
}
