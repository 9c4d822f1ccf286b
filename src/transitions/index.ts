export { defineLifecycle, type Lifecycle, type TransitionPair } from './lifecycle.ts'
export {
  created,
  lock,
  transition,
  transitionMany,
  type Act,
  type Transitioned,
  type TransitionRequest,
} from './transition.ts'
