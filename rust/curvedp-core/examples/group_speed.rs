//! Groups released per second on one thread: means of small groups on the sphere and of SPD(3) matrices.

use std::sync::Arc;
use std::time::Instant;

use curvedp_core::ball::Frame;
use curvedp_core::groups::{Design, GroupMean, Groups, Means, release};
use curvedp_core::manifold::{Manifold, build};
use curvedp_core::mean::plan;
use curvedp_core::noise::{GroupKeys, IsotropicNoise, Profile, Stream};
use curvedp_core::parallel::set_num_threads;
use curvedp_core::release::{Grid, Placement};
use curvedp_core::roots::{Radial, Space};
use curvedp_core::rows::Rows;

fn report(kind: &str, size: usize, center: &[f64], space: Space, count: usize, n: usize) {
    let manifold: Arc<dyn Manifold> = build(kind, size, 1.0).expect("a manifold").into();
    let (width, dim) = (manifold.point_size(), manifold.dim());
    let mut stream = Stream::from_key([1; 32], 0);
    let mut coords = vec![0.0; count * n * dim];
    stream.fill_normal(&mut coords);
    coords.iter_mut().for_each(|x| *x *= 0.25);
    let mut records = vec![0.0; count * n * width];
    manifold.exp_coords(Rows::new(&coords, dim), Rows::shared(center), &mut records);
    let frame = Frame::new(Arc::clone(&manifold), center, 0.7);
    let plan = plan(frame.ball().manifold, 0.7, n, 1e-4 * 1.4 / n as f64).expect("a plan");
    let noise =
        IsotropicNoise::new(space, Profile::Gaussian { scale: 1.4 / n as f64 }).expect("noise");
    let grid = Grid { step: 2.0_f64.powi(-24), clip_radius: 16.0 };
    let groups = Groups {
        records: Rows::new(&records, width),
        offsets: &(0..=count).map(|g| g * n).collect::<Vec<_>>(),
        frames: &[&frame],
        designs: &[Design {
            replaced: 1.0 / n as f64,
            mean: Some(GroupMean {
                plan,
                noise: &noise,
                placement: Placement::Intrinsic,
                mean_square: 0.0,
                grid,
            }),
        }],
        choice: &vec![0; count],
        tally: None,
        ids: None,
    };
    let mut out = vec![0.0; count * width];
    let mut times = Vec::new();
    for _ in 0..7 {
        let keys = GroupKeys::Numbered([2; 32]);
        let start = Instant::now();
        release(&groups, &Means, &keys, &mut out, &|_| false).expect("done");
        times.push(start.elapsed().as_secs_f64() / count as f64);
    }
    times.sort_by(f64::total_cmp);
    let micro = 1e6 * times[0];
    println!(
        "{kind}:{size} {count} groups of {n}: {micro:.3} us a group, {:.0} /s",
        1.0 / times[0]
    );
}

fn main() {
    set_num_threads(1);
    let sphere = Space::Radial(Radial::Sphere { dim: 2, radius: 1.0 });
    report("sphere", 2, &[0.0, 0.0, 1.0], sphere, 20_000, 20);
    let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    report("spd", 3, &identity, Space::Radial(Radial::Flat { dim: 6 }), 1_000, 100);
}
