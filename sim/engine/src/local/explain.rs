//! Who is protected from whom in a scenario of the trust model `local`.

use sordino_experiment::record::Explanation;
use sordino_experiment::scenario::local::LocalScenario;
use sordino_experiment::text::significant;

/// What the users' reports promise.
pub fn explain(scenario: &LocalScenario) -> Explanation {
    let users = &scenario.users;
    let mut not_protected = vec![
        "That a user takes part, when, and which query it was asked: only the reward is noised.".to_owned(),
        "The public bounds on rewards; they must not be estimated from rewards. Those of ldp-stocks and ldp-light-sensor were, \
         by the paper's authors: their ε holds as if the bounds had been known beforehand."
            .to_owned(),
        "Timing: an observer of when reports are sent may learn more.".to_owned(),
    ];
    let (protected, relation, cost) = match users.epsilon {
        None => {
            not_protected.insert(0, "Rewards: they are sent as they are.".to_owned());
            let protected = "Nobody: `users.epsilon` is missing, rewards leave without noise.";
            (
                vec![protected.to_owned()],
                vec!["None.".to_owned()],
                vec!["No loss is bounded.".to_owned()],
            )
        }
        Some(epsilon) => {
            let bound = match (users.norm_bound, users.noise_bound) {
                (Some(b), Some(r)) => format!("±{}", significant(b + r, 6)),
                _ => "±(B + R), the public bound of the run's function and noise".to_owned(),
            };
            let reports = users.reports_per_user;
            (
                vec![
                    "Each user's reward is protected from everybody else, the learner too: noise is added before the \
                     reward leaves the user."
                        .to_owned(),
                ],
                vec![format!(
                    "A user's reward against any other reward. Rewards are clamped to {bound}, and discrete Laplace \
                     noise of scale twice that over ε is added; without the clamp the guarantee would be false."
                )],
                vec![
                    format!("ε = {epsilon} for each report; pure, δ = 0."),
                    format!(
                        "{reports} report(s) of one user: ε = {} for that user, whichever algorithm asked. Losses of \
                         different users do not add.",
                        epsilon * f64::from(reports)
                    ),
                ],
            )
        }
    };
    Explanation {
        protected,
        relation,
        not_protected,
        cost,
    }
}
