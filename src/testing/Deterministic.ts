/**
 * Time, chance and ids that are the same in every run.
 *
 * @since 0.1.0
 */
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as TestContext from "effect/TestContext"
import type * as TestServices from "effect/TestServices"
import { Ids } from "../domain/Ids.ts"

/**
 * Counting ids (`ses_1`, `run_2`, ...), a seeded Random, and Effect's test services, so that time stands still until
 * `TestClock.adjust` moves it. `it.effect` of @effect/vitest brings the test services along; there `Ids.layerCounting` is enough.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerDeterministic = (
  seed: number | string = 0
): Layer.Layer<Ids | TestServices.TestServices> =>
  Layer.mergeAll(Ids.layerCounting, TestContext.TestContext, Layer.setRandom(Random.make(seed)))
